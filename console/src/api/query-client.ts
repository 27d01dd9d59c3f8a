import { QueryClient } from '@tanstack/react-query';
import { onConnection } from './connection.ts';
import { isTemporary } from './failure.ts';
import { sessionKey } from './session.ts';
import { whenSessionEnds } from './send.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A server on this machine or network is reachable without the internet.
      networkMode: 'always',
      staleTime: 2_000,
      retry: (failures, error) => failures < 2 && isTemporary(error),
      retryDelay: (failures) => 500 * 2 ** failures,
    },
    mutations: { networkMode: 'always' },
  },
});

/** Pause between two tries to reach a server that does not answer, in milliseconds. */
const retryMs = 2_000;
let retrying: ReturnType<typeof setInterval> | undefined;

// Without a connection the session is asked for until the server answers; then everything on the screen is read again.
onConnection((isConnected) => {
  clearInterval(retrying);
  if (isConnected) void queryClient.invalidateQueries();
  else retrying = setInterval(() => void queryClient.refetchQueries({ queryKey: sessionKey }), retryMs);
});

whenSessionEnds(() => {
  if (queryClient.getQueryData(sessionKey) !== null) queryClient.setQueryData(sessionKey, null);
});
