import { possibleStart } from '../../../../base/possible-start.ts';
import type { Thinking } from '../families.ts';
import type { Segment, Segmenter } from './segments.ts';

/** Separates the reasoning at the start of an answer: all of it if there is no `end`. @param isInside true if the prompt begins it */
export function createThinkingSegmenter({ start, end }: Thinking, isInside: boolean): Segmenter {
  let state: 'before' | 'inside' | 'behind' | 'content' = isInside ? 'inside' : 'before';
  let held = '';

  function push(text: string): Segment[] {
    held += text;
    const segments: Segment[] = [];
    if (state === 'before') segments.push(...enter());
    if (state === 'inside') segments.push(...leave());
    if (state === 'behind') segments.push(...skipSpace());
    if (state === 'content') segments.push(...take('content', held.length));
    return segments;
  }

  function enter(): Segment[] {
    const space = held.search(/\S|$/);
    const body = held.slice(space);
    if (body.startsWith(start)) {
      state = 'inside';
      return take('marker', space + start.length);
    }
    if (!start.startsWith(body)) state = 'content';
    return [];
  }

  function leave(): Segment[] {
    const at = held.indexOf(end);
    if (at === -1) return take('reasoning', held.length - possibleStart(held, [end]));
    const thought = take('reasoning', at);
    state = 'behind';
    return [...thought, ...take('marker', end.length)];
  }

  /** Line breaks after the reasoning are not content. */
  function skipSpace(): Segment[] {
    const space = held.search(/\S|$/);
    if (space < held.length) state = 'content';
    return take('marker', space);
  }

  function take(kind: 'reasoning' | 'content' | 'marker', length: number): Segment[] {
    const text = held.slice(0, length);
    held = held.slice(length);
    return text === '' ? [] : [{ kind, text }];
  }

  return {
    push,
    end: () => take(state === 'inside' ? 'reasoning' : 'content', held.length),
  };
}
