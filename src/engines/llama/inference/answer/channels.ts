import { parseOrUndefined } from '../../../../base/fields.ts';
import type { Segment, Segmenter } from './segments.ts';
import { firstOf, possibleStart } from './stop.ts';

const body = '<|message|>';
const ends = ['<|end|>', '<|start|>', '<|channel|>', '<|call|>', '<|return|>'];

/**
 * Reads an answer in channels: a header, `<|message|>`, then the text. What is said stands in the channel `final`, a
 * call in a message to `functions.<name>`, everything else is thinking. A header that never comes to its message is
 * dropped; a text without any header is said.
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
      const found = firstOf(marks, held);
      if (!found) break;
      const { at, mark } = found;
      if (state === 'header') {
        header += held.slice(0, at);
        segments.push({ kind: 'mark', text: held.slice(0, at) + mark });
      } else {
        segments.push(...say(held.slice(0, at)), ...finishCall());
        segments.push({ kind: 'mark', text: mark });
        // A channel may follow the text at once; then it is part of the next header.
        header = mark === '<|channel|>' ? mark : '';
      }
      hasSpoken = true;
      held = held.slice(at + mark.length);
      state = next;
    }
    if (state === 'body') {
      const certain = held.length - possibleStart(held, ends);
      segments.push(...say(held.slice(0, certain)));
      held = held.slice(certain);
    }
    return segments;
  }

  function say(text: string): Segment[] {
    if (text === '') return [];
    if (callee() !== undefined) {
      argumentsText += text;
      return [];
    }
    return [{ kind: isFinal() ? 'said' : 'thought', text }];
  }

  function finishCall(): Segment[] {
    const name = callee();
    if (name === undefined) return [];
    const text = argumentsText.trim() || '{}';
    argumentsText = '';
    // Cut off or broken, it stays text.
    return parseOrUndefined(text) === undefined
      ? [{ kind: 'said', text }]
      : [{ kind: 'call', call: { name, arguments: text } }];
  }

  return {
    push,
    end() {
      const rest = held;
      held = '';
      if (state === 'body') return [...say(rest), ...finishCall()];
      if (hasSpoken || rest.startsWith('<|') || rest === '') return [];
      return [{ kind: 'said', text: rest }];
    },
  };
}
