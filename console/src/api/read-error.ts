import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { isTemporary } from './failure.ts';

/** Temporary error of the last read of something on the screen, which shows earlier data meanwhile; null without any. */
export function useReadError(): Error | null {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback(
    (listener: () => void) => cache.subscribe(notifyManager.batchCalls(listener)),
    [cache],
  );
  return useSyncExternalStore(subscribe, () => {
    const failed = cache
      .findAll({ type: 'active' })
      .find(({ state: { data, error } }) => data !== undefined && error !== null && isTemporary(error));
    return failed?.state.error ?? null;
  });
}
