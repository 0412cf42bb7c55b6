import { Alert, Anchor, AppShell, Button, Group, Text, TextInput, Title } from '@mantine/core';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Link, Route, Router, Switch } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { session } from './api.ts';
import { ClusterPage } from './cluster-page.tsx';
import { createClustersStore } from './clusters-store.ts';
import { CreatePage } from './create-page.tsx';
import { ListPage } from './list-page.tsx';
import { Login } from './login.tsx';
import { takeLogin } from './oidc.ts';

const store = createClustersStore();
const NAMESPACE = 'matryoshka-namespace';

/** Before the first view: the token of a login is in the address. */
const loginProblem = takeLogin();

/** The namespace whose clusters are shown; empty: all. It is kept for the next visit. */
function useNamespace(): [string, (namespace: string) => void] {
  const [namespace, set] = useState(() => localStorage.getItem(NAMESPACE) ?? '');
  return [
    namespace,
    (next) => {
      localStorage.setItem(NAMESPACE, next);
      set(next);
    },
  ];
}

export function App() {
  const [token, setToken] = useState(session.token);
  const [problem, setProblem] = useState(loginProblem);
  if (token === null) return <Login problem={problem} onLogin={setToken} />;
  const leave = (why?: string) => {
    session.token = null;
    setProblem(why);
    setToken(null);
  };
  return (
    <Router hook={useHashLocation}>
      <Pages onLeave={leave} />
    </Router>
  );
}

function Pages({ onLeave }: { onLeave: (why?: string) => void }) {
  const [namespace, setNamespace] = useNamespace();
  const [draft, setDraft] = useState(namespace);
  const snapshot = useSyncExternalStore(store.subscribe, store.read);
  useEffect(() => {
    store.watch(namespace === '' ? undefined : namespace);
    return store.stop;
  }, [namespace]);
  useEffect(() => {
    if (snapshot.isLoggedOut) onLeave(snapshot.refusal);
  }, [snapshot.isLoggedOut, snapshot.refusal, onLeave]);
  return (
    <AppShell header={{ height: 56 }} padding="md">
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Title order={1} size="h4">
            <Anchor component={Link} href="/" inherit underline="never">
              Matryoshka
            </Anchor>
          </Title>
          <Group gap="sm" wrap="nowrap">
            <form
              style={{ minWidth: 0 }}
              onSubmit={(event) => {
                event.preventDefault();
                setNamespace(draft.trim());
              }}
            >
              <TextInput
                aria-label="Namespace"
                placeholder="all namespaces"
                size="xs"
                value={draft}
                onChange={(event) => setDraft(event.currentTarget.value)}
                onBlur={() => setNamespace(draft.trim())}
              />
            </form>
            <Button size="xs" variant="default" style={{ flexShrink: 0 }} onClick={() => onLeave()}>
              Log out
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Main>
        {snapshot.state === 'interrupted' && (
          <Alert color="yellow" mb="md" role="status">
            The server does not answer. What you see may be old; the page connects again by itself.
          </Alert>
        )}
        {snapshot.refusal !== undefined && (
          <Alert color="red" mb="md" role="alert" title="The server refuses the list of clusters">
            <Text size="sm">{snapshot.refusal}</Text>
            <Text size="sm">Name a namespace above in which you may see clusters, or log in again.</Text>
          </Alert>
        )}
        <Switch>
          <Route path="/create">
            <CreatePage
              namespace={namespace}
              onNamespace={(next) => {
                setNamespace(next);
                setDraft(next);
              }}
            />
          </Route>
          <Route path="/cluster/:namespace/:name">
            {({ namespace: at, name }) => (
              <ClusterPage key={`${at}/${name}`} id={`${at}/${name}`} snapshot={snapshot} />
            )}
          </Route>
          <Route>
            <ListPage snapshot={snapshot} />
          </Route>
        </Switch>
      </AppShell.Main>
    </AppShell>
  );
}
