import { isoSeconds } from '../../base/clock.ts';
import type { Role } from '../../core/role.ts';
import type { ProcessInfo } from '../../core/worker-load.ts';

/** Process of the installation. Instants are epoch milliseconds. */
export interface ProcessView {
  id: string;
  /** Null for a process of a version that does not report it. */
  info: ProcessInfo | null;
  role: Role;
  /** Last heartbeat. */
  seenAt: number;
  /** False once others may take its work. */
  isAlive: boolean;
  /** Ids of the models that it serves. */
  models: readonly string[];
  inFlight: { lines: number; requests: number };
  leased: { chunks: number; lines: number };
  slots: readonly { model: string; slots: number }[];
}

/** @param self id of the process that answers */
export function presentProcess(view: ProcessView, self: string) {
  const { id, info, role, seenAt, isAlive, models, inFlight, leased, slots } = view;
  return {
    id,
    object: 'process' as const,
    is_self: id === self,
    role,
    state: isAlive ? ('alive' as const) : ('silent' as const),
    version: info?.version ?? null,
    host: info?.host ?? null,
    pid: info?.pid ?? null,
    started_at: info ? isoSeconds(info.startedAt) : null,
    last_seen_at: isoSeconds(seenAt),
    models: [...models],
    in_flight: { batch_lines: inFlight.lines, requests: inFlight.requests },
    leases: {
      chunks: leased.chunks,
      lines: leased.lines,
      slots: slots.map(({ model, slots: count }) => ({ model, slots: count })),
    },
  };
}
