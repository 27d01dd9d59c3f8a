import { useSyncExternalStore } from 'react';

/** True while the last request reached the server. */
let isConnected = true;
const listeners = new Set<() => void>();

export function setConnected(connected: boolean): void {
  if (connected === isConnected) return;
  isConnected = connected;
  for (const listener of listeners) listener();
}

/** Calls a listener with each change. Returns a function that removes it. */
export function onConnection(listener: (isConnected: boolean) => void): () => void {
  const call = () => listener(isConnected);
  listeners.add(call);
  return () => listeners.delete(call);
}

export function useConnected(): boolean {
  return useSyncExternalStore(onConnection, () => isConnected);
}
