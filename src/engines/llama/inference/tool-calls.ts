import type { GeneratedCall } from '../protocol.ts';
import { possibleStart } from './stop.ts';

/** The marks around a call that models of the Hermes and Qwen families are trained on, and ours. */
export const callStart = '<tool_call>';
export const callEnd = '</tool_call>';

export type ToolCallPart = { content: string } | { call: GeneratedCall };

/** Takes the tool calls out of a generated text. What looks like a call but cannot be read as one stays text. */
export interface ToolCallParser {
  push(text: string): ToolCallPart[];
  end(): ToolCallPart[];
}

/**
 * `bareJson` is for models whose template teaches a call as the whole answer, `{"name": ..., "parameters": ...}`:
 * an answer that begins with a brace is then held until its end.
 */
export function createToolCallParser(
  names: ReadonlySet<string>,
  options: { bareJson: boolean },
): ToolCallParser {
  let held = '';
  let isEmptySoFar = true;
  let isBehindCall = false;

  function push(text: string): ToolCallPart[] {
    held += text;
    const parts: ToolCallPart[] = [];
    for (;;) {
      const start = held.indexOf(callStart);
      if (start === -1) break;
      const stop = held.indexOf(callEnd, start);
      if (stop === -1) return [...parts, ...release(start)];
      parts.push(...release(start));
      const marked = held.slice(0, stop - start + callEnd.length);
      held = held.slice(marked.length);
      const call = readCall(marked.slice(callStart.length, -callEnd.length), names);
      if (call) {
        parts.push({ call });
        isEmptySoFar = false;
        isBehindCall = true;
      } else {
        parts.push({ content: marked });
      }
    }
    if (options.bareJson && isEmptySoFar && /^\s*(\{|$)/.test(held)) return parts;
    return [...parts, ...release(held.length - possibleStart(held, [callStart]))];
  }

  function release(length: number): ToolCallPart[] {
    const text = held.slice(0, length);
    held = held.slice(length);
    // The line break between two calls is nothing anybody said.
    const content = isBehindCall ? text.trimStart() : text;
    if (content === '') return [];
    isEmptySoFar = false;
    isBehindCall = false;
    return [{ content }];
  }

  function end(): ToolCallPart[] {
    const call = options.bareJson && isEmptySoFar ? readCall(held, names) : undefined;
    if (!call) return release(held.length);
    held = '';
    return [{ call }];
  }

  return { push, end };
}

function readCall(text: string, names: ReadonlySet<string>): GeneratedCall | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('name' in value)) return undefined;
  const { name } = value;
  if (typeof name !== 'string' || !names.has(name)) return undefined;
  const given = 'arguments' in value ? value.arguments : 'parameters' in value ? value.parameters : {};
  return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
}
