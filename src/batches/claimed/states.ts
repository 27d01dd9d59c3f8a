// States of the lines, chunks and batches that a process has claimed (batch-engine.md, "States in a process").
//
// `machine[state][event]` is the next state; an event without an entry cannot happen in that state. None of this is stored:
// the database knows only whether a chunk is leased and whether a line has a result.

export const lineMachine = {
  queued: { send: 'sent', withdraw: 'returned', cancel: 'done' },
  sent: {
    answer: 'done',
    'back off': 'backing off',
    park: 'parked',
    withdraw: 'returned',
    cancel: 'cancelling',
  },
  // Waits alone after a failure or a refusal.
  'backing off': { retry: 'queued', withdraw: 'returned', cancel: 'done' },
  // Waits with others until the model takes requests.
  parked: { retry: 'queued', withdraw: 'returned', cancel: 'done' },
  // A single request whose call is aborted.
  cancelling: { answer: 'done', withdraw: 'returned' },
  // Without a result: the next owner of the chunk sends the line.
  returned: {},
  done: {},
} as const;

/** Lines of an open chunk are sent; a chunk that yields or stops waits only for its lines in flight. */
export const chunkMachine = {
  open: { complete: 'finished', yield: 'yielding', stop: 'stopping', drop: 'dropped' },
  yielding: { complete: 'finished', idle: 'released', stop: 'stopping', drop: 'dropped' },
  // Its batch takes no more results.
  stopping: { complete: 'finished', idle: 'dropped', drop: 'dropped' },
  // All lines have a result; the lease is held until the last one is recorded.
  finished: {},
  released: {},
  // The answers of its lines may still arrive.
  dropped: { complete: 'finished' },
} as const;

/** A batch that yields sends nothing until it resumes, and its chunks are released. */
export const batchMachine = {
  running: { yield: 'yielding', stop: 'stopping' },
  yielding: { resume: 'running', stop: 'stopping' },
  stopping: {},
} as const;

export type LineState = keyof typeof lineMachine;
export type ChunkState = keyof typeof chunkMachine;
export type BatchState = keyof typeof batchMachine;

type EventOf<M> = { [S in keyof M]: keyof M[S] }[keyof M] & string;
export type LineEvent = EventOf<typeof lineMachine>;
export type ChunkEvent = EventOf<typeof chunkMachine>;
export type BatchEvent = EventOf<typeof batchMachine>;

type Machine<State extends string> = Readonly<Record<State, Readonly<Record<string, State>>>>;

/** State after an event; undefined if the event cannot happen in `state`. */
export function after<State extends string>(
  machine: Machine<State>,
  state: State,
  event: string,
): State | undefined {
  return machine[state][event];
}

export type LineCounts = Record<LineState, number>;

export const noLines: Readonly<LineCounts> = {
  queued: 0,
  sent: 0,
  'backing off': 0,
  parked: 0,
  cancelling: 0,
  returned: 0,
  done: 0,
};

/** True for a line whose answer may still come. */
export const isInFlight = (state: LineState) => state === 'sent' || state === 'cancelling';
export const countInFlight = ({ sent, cancelling }: Readonly<LineCounts>) => sent + cancelling;

/** Returns the event that the states of its lines cause for a chunk; undefined while they cause none. */
export function followingEvent(lines: Readonly<LineCounts>, total: number): ChunkEvent | undefined {
  if (lines.done === total) return 'complete';
  return countInFlight(lines) === 0 ? 'idle' : undefined;
}
