import type { Clock } from '../../../base/clock.ts';
import { madeBody } from '../../../wire/json/json-body.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import type { Address } from '../connection/address.ts';
import type { Connections } from '../connection/connections.ts';
import { createHangWatch, type HangWatch } from '../connection/hang-watch.ts';
import { createLifeSigns } from './life-signs.ts';
import type { Profile } from './profile.ts';

/** Below that a server that is slow to be asked would be taken for one that hangs. */
const leastWatchedMs = 60_000;

export interface WatchParts {
  clock: Clock;
  idleMs: number;
  connections: Connections;
  address: Address;
  profile: Profile;
}

/** Watches by what servers of its kind show whether one hangs. */
export function watchServer({ clock, idleMs, connections, address, profile }: WatchParts): HangWatch {
  const never = new AbortController().signal;

  /** The path and the text of a request that costs next to nothing. */
  function leastWork(): [string, string] {
    const { capabilities, dialect, wording, chatPath, embeddingsPath } = profile.now;
    const { model } = wording;
    if (!capabilities.serves.includes('chat'))
      return [address.path(embeddingsPath), JSON.stringify({ model, input: 'a' })];
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const least = madeBody<ChatRequest>({ model, messages, max_completion_tokens: 1 });
    return [address.path(chatPath), dialect.text(least, false, wording)];
  }

  return createHangWatch({
    clock,
    idleMs: idleMs && Math.max(idleMs, leastWatchedMs),
    work: () => connections.open,
    ...createLifeSigns(() => profile.now.traits.life ?? 'door', {
      get: (path) => connections.beside.get(address.rootPath(path), never),
      wait: (path, signal) => connections.work.get(address.rootPath(path), signal),
      work: (signal) => connections.work.post(...leastWork(), signal),
      knock: () => connections.beside.get(address.path('/models'), never),
    }),
  });
}
