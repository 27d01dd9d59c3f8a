import type { Thinking } from '../families.ts';
import type { Segment, Segmenter } from './segments.ts';
import { possibleStart } from './stop.ts';

/**
 * Keeps apart what a model thinks, at the beginning of its answer and between `start` and `end`. `isInside` tells that
 * the prompt opened the thinking already. Thinking that is cut off is thinking to the end.
 */
export function createThinkingSegmenter({ start, end }: Thinking, isInside: boolean): Segmenter {
  let state: 'before' | 'inside' | 'behind' | 'said' = isInside ? 'inside' : 'before';
  let held = '';

  function push(text: string): Segment[] {
    held += text;
    const segments: Segment[] = [];
    if (state === 'before') segments.push(...enter());
    if (state === 'inside') segments.push(...leave());
    if (state === 'behind') segments.push(...skipSpace());
    if (state === 'said') segments.push(...take('said', held.length));
    return segments;
  }

  function enter(): Segment[] {
    const space = held.search(/\S|$/);
    const body = held.slice(space);
    if (body.startsWith(start)) {
      state = 'inside';
      return take('mark', space + start.length);
    }
    if (!start.startsWith(body)) state = 'said';
    return [];
  }

  function leave(): Segment[] {
    const at = held.indexOf(end);
    if (at === -1) return take('thought', held.length - possibleStart(held, [end]));
    const thought = take('thought', at);
    state = 'behind';
    return [...thought, ...take('mark', end.length)];
  }

  /** The line breaks behind a thought are not part of the answer. */
  function skipSpace(): Segment[] {
    const space = held.search(/\S|$/);
    if (space < held.length) state = 'said';
    return take('mark', space);
  }

  function take(kind: 'thought' | 'said' | 'mark', length: number): Segment[] {
    const text = held.slice(0, length);
    held = held.slice(length);
    return text === '' ? [] : [{ kind, text }];
  }

  return {
    push,
    end: () => take(state === 'inside' ? 'thought' : 'said', held.length),
  };
}
