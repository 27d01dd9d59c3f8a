import { QueryClient } from '@tanstack/react-query';
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

whenSessionEnds(() => {
  if (queryClient.getQueryData(sessionKey) !== null) queryClient.setQueryData(sessionKey, null);
});
