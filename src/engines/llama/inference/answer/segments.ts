import type { GeneratedCall } from '../../protocol.ts';

/** A piece of what a model wrote: what it thought, what it says, a call, or the marks between them. */
export type Segment =
  | { kind: 'thought' | 'said' | 'mark'; text: string }
  | { kind: 'call'; call: GeneratedCall };

/** Cuts a generated text into segments, however it comes in pieces. */
export interface Segmenter {
  push(text: string): Segment[];
  end(): Segment[];
}
