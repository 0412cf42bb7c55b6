import { Alert, Button, Card, Center, Code, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import { call, Refused, session } from './api.ts';
import { canLogInElsewhere, logInElsewhere } from './oidc.ts';

/** Asks for a token, and keeps it if the server accepts it. With a provider, a button leads there. */
export function Login({
  problem,
  onLogin,
}: {
  problem: string | undefined;
  onLogin: (token: string) => void;
}) {
  const [token, setToken] = useState('');
  const [refusal, setRefusal] = useState(problem);
  const [hasProvider, setHasProvider] = useState(false);
  useEffect(() => {
    void canLogInElsewhere().then(setHasProvider);
  }, []);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    session.token = token.trim();
    try {
      await call('GET', '/clusters', { query: { limit: '1' } });
      onLogin(token.trim());
    } catch (error) {
      // A user may have a right in one namespace only; the token itself is good.
      if (error instanceof Refused && error.status === 403) {
        onLogin(token.trim());
        return;
      }
      session.token = null;
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder maw={480} w="100%" p="lg">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <Stack>
            <Title order={1} size="h3">
              Matryoshka
            </Title>
            {hasProvider && <Button onClick={logInElsewhere}>Log in with your organisation</Button>}
            <Text size="sm">
              {hasProvider ? 'Or log' : 'Log'} in with a token of the meta cluster, for example from{' '}
              <Code>kubectl create token alice</Code>.
            </Text>
            <PasswordInput
              label="Token"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="off"
              required
              data-autofocus
            />
            {refusal !== undefined && (
              <Alert color="red" role="alert">
                {refusal}
              </Alert>
            )}
            <Button type="submit" variant={hasProvider ? 'default' : 'filled'} loading={isBusy}>
              Log in
            </Button>
          </Stack>
        </form>
      </Card>
    </Center>
  );
}
