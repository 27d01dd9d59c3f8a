import { truncate } from '../../base/truncate.ts';
import type { AssistantMessage, ChatRequest, FinishReason, Tool, ToolCall } from '../../wire/chat/chat.ts';
import type { Prompt } from './directives.ts';
import { instanceOf } from './instance.ts';
import { tokenize } from './tokens.ts';

export interface Answer {
  message: AssistantMessage;
  finishReason: FinishReason;
  tokens: number;
  /** The stop sequence that ended it. */
  stop?: string;
}

/**
 * What the scripted engine says: the same words to the same request, always.
 * @param broken whether the promises of the request (schema, forced tool) are to be missed
 */
export function answerTo(request: ChatRequest, prompt: Prompt, broken: boolean): Answer {
  const call = broken ? undefined : toolCall(request, prompt);
  if (call) {
    const message: AssistantMessage = { role: 'assistant', content: null, refusal: null, tool_calls: [call] };
    return { message, finishReason: 'tool_calls', tokens: tokenize(call.function.arguments).length + 1 };
  }
  const whole = broken ? 'not what was asked for' : words(request, prompt);
  const { said, stop } = beforeStop(request, whole);
  const tokens = tokenize(said);
  const most = request.max_completion_tokens ?? request.max_tokens ?? Infinity;
  const cut = tokens.length > most;
  return {
    message: { role: 'assistant', content: cut ? tokens.slice(0, most).join('') : said, refusal: null },
    finishReason: cut ? 'length' : 'stop',
    tokens: Math.min(tokens.length, most),
    ...(stop !== undefined && !cut && { stop }),
  };
}

function words(request: ChatRequest, { text, directives }: Prompt): string {
  if (directives.json !== undefined) return directives.json;
  const format = request.response_format;
  if (format?.type === 'json_schema') return JSON.stringify(instanceOf(format.json_schema.schema ?? {}));
  if (format?.type === 'json_object') return JSON.stringify({ answer: truncate(text, 200) });
  if (directives.tokens !== undefined) return 'word'.padEnd(directives.tokens * 5 - 1, ' word');
  return `Echo: ${truncate(text, 200)}`;
}

/** The text up to the first stop sequence in it, and which one that was. */
function beforeStop(request: ChatRequest, whole: string): { said: string; stop?: string } {
  const stops = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []);
  const found = stops.filter((stop) => whole.includes(stop));
  const [stop] = found.toSorted((a, b) => whole.indexOf(a) - whole.indexOf(b));
  return stop === undefined ? { said: whole } : { said: whole.slice(0, whole.indexOf(stop)), stop };
}

function toolCall(request: ChatRequest, { directives }: Prompt): ToolCall | undefined {
  const choice = request.tool_choice ?? 'auto';
  if (choice === 'none' || !request.tools?.length) return undefined;
  if (directives.tool) return called(directives.tool.name, directives.tool.arguments);
  if (choice === 'auto') return undefined;
  const named = (tool: Tool) => choice === 'required' || tool.function.name === choice.function.name;
  const tool = request.tools.find(named);
  return (
    tool &&
    called(tool.function.name, JSON.stringify(instanceOf(tool.function.parameters ?? { type: 'object' })))
  );
}

function called(name: string, json: string): ToolCall {
  return { id: `call_scripted_${name}`, type: 'function', function: { name, arguments: json } };
}
