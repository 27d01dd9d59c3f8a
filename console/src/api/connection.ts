import { createFlag } from './flag.ts';

/** True while the last request reached the server. */
const connected = createFlag(true);

export const setConnected = connected.set;
export const onConnection = connected.on;
export const useConnected = connected.use;
