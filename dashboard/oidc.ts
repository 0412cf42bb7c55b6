import { session } from './api.ts';

/** Login by an identity provider: the server exchanges the code, and the page gets the token after the hash of its address. */

/** Secret of this tab, which the server repeats: a token that another page made up is not taken. */
const TAB = 'matryoshka-login-tab';
/** Where the user was before the login. */
const PLACE = 'matryoshka-login-place';

const PROBLEMS = new Map([
  ['unreachable', 'The identity provider does not answer. Try again later, or use a token.'],
  ['expired', 'The login took too long, or this browser keeps no cookies. Log in again.'],
  ['refused', 'The identity provider refuses the login.'],
]);

/** Whether the server has a provider. */
export async function canLogInElsewhere(): Promise<boolean> {
  try {
    const answer = await fetch('/login/options');
    const options: unknown = answer.ok ? await answer.json() : undefined;
    return typeof options === 'object' && options !== null && 'oidc' in options && options.oidc === true;
  } catch {
    return false;
  }
}

/** Leaves the page for the provider. */
export function logInElsewhere(): void {
  const tab = crypto.randomUUID();
  sessionStorage.setItem(TAB, tab);
  sessionStorage.setItem(PLACE, location.hash);
  location.assign(`/login/oidc?tab=${tab}`);
}

/** Takes what a login has left in the address, and removes it there. Returns the problem of a login that failed. */
export function takeLogin(): string | undefined {
  const said = new URLSearchParams(location.hash.slice(1));
  const [token, tab, error] = [said.get('token'), said.get('login'), said.get('login-error')];
  if (error === null && (token === null || tab === null)) return undefined;
  const isOurs = tab !== null && tab === sessionStorage.getItem(TAB);
  history.replaceState(null, '', `/${sessionStorage.getItem(PLACE) ?? ''}`);
  sessionStorage.removeItem(TAB);
  sessionStorage.removeItem(PLACE);
  if (isOurs && token !== null) {
    session.token = token;
    return undefined;
  }
  return PROBLEMS.get(error ?? '') ?? 'The login failed. The log of the server says why.';
}
