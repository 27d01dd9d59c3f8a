import { parseOrUndefined } from '../../../../base/fields.ts';
import { possibleStart } from '../../../../base/possible-start.ts';
import type { Segment, Segmenter } from './segments.ts';
import { findFirst } from './stop.ts';

const body = '<|message|>';
const ends = ['<|end|>', '<|start|>', '<|channel|>', '<|call|>', '<|return|>'];

/**
 * Reads an answer in channels: a header, `<|message|>`, then the text. The channel `final` is the content, a message to
 * `functions.<name>` is a call, everything else is reasoning. A header without a message is dropped; a text without any
 * header is content.
 */
export function createChannelSegmenter(names: ReadonlySet<string>): Segmenter {
  let held = '';
  let header = '';
  let state: 'header' | 'body' = 'header';
  let argumentsText = '';
  let hasSpoken = false;

  const callee = (): string | undefined => {
    const name = /\bto=functions\.([\w-]+)/.exec(header)?.[1];
    return name !== undefined && names.has(name) ? name : undefined;
  };
  const isFinal = (): boolean => !header.includes('<|channel|>') || /<\|channel\|>\s*final/.test(header);

  function push(text: string): Segment[] {
    held += text;
    const segments: Segment[] = [];
    for (;;) {
      const [marks, next] = state === 'header' ? [[body], 'body' as const] : [ends, 'header' as const];
      const found = findFirst(marks, held);
      if (!found) break;
      const { at, mark } = found;
      if (state === 'header') {
        header += held.slice(0, at);
        segments.push({ kind: 'marker', text: held.slice(0, at) + mark });
      } else {
        segments.push(...classify(held.slice(0, at)), ...finishCall());
        segments.push({ kind: 'marker', text: mark });
        // A channel directly after the text begins the next header.
        header = mark === '<|channel|>' ? mark : '';
      }
      hasSpoken = true;
      held = held.slice(at + mark.length);
      state = next;
    }
    if (state === 'body') {
      const certain = held.length - possibleStart(held, ends);
      segments.push(...classify(held.slice(0, certain)));
      held = held.slice(certain);
    }
    return segments;
  }

  function classify(text: string): Segment[] {
    if (text === '') return [];
    if (callee() !== undefined) {
      argumentsText += text;
      return [];
    }
    return [{ kind: isFinal() ? 'content' : 'reasoning', text }];
  }

  function finishCall(): Segment[] {
    const name = callee();
    if (name === undefined) return [];
    const text = argumentsText.trim() || '{}';
    argumentsText = '';
    // Truncated or invalid arguments stay text.
    return parseOrUndefined(text) === undefined
      ? [{ kind: 'content', text }]
      : [{ kind: 'call', call: { name, arguments: text } }];
  }

  return {
    push,
    end() {
      const rest = held;
      held = '';
      if (state === 'body') return [...classify(rest), ...finishCall()];
      if (hasSpoken || rest.startsWith('<|') || rest === '') return [];
      return [{ kind: 'content', text: rest }];
    },
  };
}
