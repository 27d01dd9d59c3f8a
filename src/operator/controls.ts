import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createPoll } from '../base/poll.ts';
import type { Service } from '../base/service.ts';
import type { Actor } from '../core/audit.ts';
import {
  type BatchPause,
  findPause,
  type PauseScope,
  type ReplicaCap,
  type ReplicaDrain,
} from '../core/controls.ts';
import { failureFields } from '../core/retry-log.ts';
import type { StoredControls } from '../store/contract/controls.ts';
import type { Store } from '../store/store.ts';

/** Interval at which each process reads the controls: they are in force everywhere within a second. */
const refreshMs = 500;

/** Pauses of batch lines, drains and caps of replicas, which operators set on any process for all. */
export interface Controls extends Service {
  /** Pauses in force, oldest first. */
  readonly pauses: readonly BatchPause[];
  /** Drains in force, oldest first. */
  readonly drains: readonly ReplicaDrain[];
  /** Caps in force, oldest first. */
  readonly caps: readonly ReplicaCap[];
  /** Pause that stops the lines of an org, or of all orgs, for a model; null if none does. */
  pausing(orgId: string | null, model: string): BatchPause | null;
  /** Returns the pauses then in force. */
  pause(scope: PauseScope, actor: Actor): Promise<readonly BatchPause[]>;
  /** Ends the pauses within the scope. Returns those still in force. */
  resume(scope: PauseScope, actor: Actor): Promise<readonly BatchPause[]>;
  drain(replica: Pick<ReplicaDrain, 'id' | 'model' | 'server'>, actor: Actor): Promise<void>;
  undrain(id: string, actor: Actor): Promise<void>;
  cap(replica: Omit<ReplicaCap, 'since' | 'keyId'>, actor: Actor): Promise<void>;
  uncap(id: string, actor: Actor): Promise<void>;
  /** Calls `listener` after each change, whichever process made it. */
  onChange(listener: () => void): void;
}

export interface ControlsDeps {
  store: Pick<Store, 'controls'>;
  /** Clock of the database. */
  clock: Clock;
  log: Log;
}

export function createControls({ store, clock, log }: ControlsDeps): Controls {
  let current: StoredControls = { pauses: [], drains: [], caps: [] };
  const listeners: (() => void)[] = [];

  const poll = createPoll(
    clock,
    refreshMs,
    async () => {
      const next = await store.controls.read();
      if (isDeepStrictEqual(next, current)) return;
      current = next;
      for (const listener of listeners) listener();
    },
    (error) =>
      log.warn(
        failureFields(error),
        'could not read the pauses, drains and caps; the last ones stay in force',
      ),
  );

  /** Writes a change, and puts it into force in this process. */
  async function write(actor: Actor, change: (by: { actor: Actor; at: number }) => Promise<unknown>) {
    await change({ actor, at: clock.now() });
    await poll.refresh();
  }

  return {
    get pauses() {
      return current.pauses;
    },
    get drains() {
      return current.drains;
    },
    get caps() {
      return current.caps;
    },
    pausing: (orgId, model) => findPause(current.pauses, { orgId, model }),
    async pause(scope, actor) {
      await write(actor, (by) => store.controls.pause(scope, by));
      return current.pauses;
    },
    async resume(scope, actor) {
      await write(actor, (by) => store.controls.resume(scope, by));
      return current.pauses;
    },
    drain: (replica, actor) => write(actor, (by) => store.controls.drain(replica, by)),
    undrain: (id, actor) => write(actor, (by) => store.controls.undrain(id, by)),
    cap: (replica, actor) => write(actor, (by) => store.controls.cap(replica, by)),
    uncap: (id, actor) => write(actor, (by) => store.controls.uncap(id, by)),
    onChange: (listener) => void listeners.push(listener),
    start: () => poll.start(),
    stop: () => poll.stop(),
  };
}
