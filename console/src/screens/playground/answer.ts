import type { Usage } from '../../../../src/core/usage.ts';
import { toFailure } from '../../api/failure.ts';
import type { Format } from './search.ts';

/** Answer of a model, as far as it has come. All texts are the model's. */
export interface Answer {
  text: string;
  reasoning: string;
  calls: Call[];
  /** Reason of the end, in the words of the format; null before it. */
  stop: string | null;
  /** Null until the server reports it. */
  usage: Usage | null;
}

interface Call {
  name: string;
  /** JSON. */
  arguments: string;
}

/** Answer that grows with each event of a stream, or takes a whole body at once. */
export interface AnswerReader {
  readonly answer: Answer;
  /** @throws ApiFailure for an event that reports an error */
  addEvent(event: unknown): void;
  addBody(body: unknown): void;
}

/** Members that all three formats may have. Every member is checked where it is used. */
type Json = { readonly [name: string]: Json | undefined } & { readonly length?: number };

export function createAnswerReader(format: Format): AnswerReader {
  const answer: Answer = { text: '', reasoning: '', calls: [], stop: null, usage: null };
  const read = { chat, responses, messages }[format];
  return {
    answer,
    addEvent(given) {
      const value = Object(given) as Json;
      const error = value['error'] ?? value['response']?.['error'];
      if (error) throw toFailure(0, { error });
      read.event(answer, value);
    },
    addBody: (given) => read.body(answer, Object(given) as Json),
  };
}

const chat = {
  event(answer: Answer, chunk: Json): void {
    const [choice] = list(chunk['choices']);
    const delta = choice?.['delta'];
    answer.text += text(delta?.['content']) + text(delta?.['refusal']);
    answer.reasoning += text(delta?.['reasoning_content'] ?? delta?.['reasoning']);
    for (const part of list(delta?.['tool_calls'])) {
      const call = (answer.calls[number(part['index'])] ??= { name: '', arguments: '' });
      call.name += text(part['function']?.['name']);
      call.arguments += text(part['function']?.['arguments']);
    }
    answer.stop = text(choice?.['finish_reason']) || answer.stop;
    answer.usage = chatUsage(chunk['usage']) ?? answer.usage;
  },
  body(answer: Answer, body: Json): void {
    const [choice] = list(body['choices']);
    chat.event(answer, {
      choices: [{ ...choice, delta: choice?.['message'] }],
      usage: body['usage'],
    } as never);
    answer.calls = list(choice?.['message']?.['tool_calls']).map((call) => ({
      name: text(call['function']?.['name']),
      arguments: text(call['function']?.['arguments']),
    }));
  },
};

const responses = {
  event(answer: Answer, event: Json): void {
    const type = text(event['type']);
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
      answer.text += text(event['delta']);
    else if (/^response\.reasoning(_summary)?_text\.delta$/.test(type))
      answer.reasoning += text(event['delta']);
    else if (type === 'response.output_item.added' && text(event['item']?.['type']) === 'function_call')
      answer.calls.push({ name: text(event['item']?.['name']), arguments: '' });
    else if (type === 'response.function_call_arguments.delta') {
      const call = answer.calls.at(-1);
      if (call) call.arguments += text(event['delta']);
    } else if (type === 'response.completed' || type === 'response.incomplete')
      end(answer, event['response']);
  },
  body(answer: Answer, body: Json): void {
    for (const item of list(body['output'])) {
      const type = text(item['type']);
      if (type === 'function_call')
        answer.calls.push({ name: text(item['name']), arguments: text(item['arguments']) });
      const parts = joined(item['content']) + joined(item['summary']);
      if (type === 'reasoning') answer.reasoning += parts;
      else answer.text += parts;
    }
    end(answer, body);
  },
};

function end(answer: Answer, response: Json | undefined): void {
  answer.stop = text(response?.['incomplete_details']?.['reason']) || text(response?.['status']);
  const usage = response?.['usage'];
  if (!usage) return;
  answer.usage = {
    inputTokens: number(usage['input_tokens']),
    cachedTokens: number(usage['input_tokens_details']?.['cached_tokens']),
    cacheWriteTokens: number(usage['input_tokens_details']?.['cache_write_tokens']),
    outputTokens: number(usage['output_tokens']),
    reasoningTokens: number(usage['output_tokens_details']?.['reasoning_tokens']),
  };
}

const messages = {
  event(answer: Answer, event: Json): void {
    const delta = event['delta'];
    const block = event['content_block'];
    if (block) addBlock(answer, block);
    answer.text += text(delta?.['text']);
    answer.reasoning += text(delta?.['thinking']);
    const call = answer.calls.at(-1);
    if (call) call.arguments += text(delta?.['partial_json']);
    answer.stop = text(delta?.['stop_reason']) || answer.stop;
    answer.usage = messagesUsage(event['usage']) ?? answer.usage;
  },
  body(answer: Answer, body: Json): void {
    for (const block of list(body['content'])) addBlock(answer, block);
    answer.stop = text(body['stop_reason']);
    answer.usage = messagesUsage(body['usage']);
  },
};

function addBlock(answer: Answer, block: Json): void {
  answer.text += text(block['text']);
  answer.reasoning += text(block['thinking']);
  if (text(block['type']) !== 'tool_use') return;
  const input = JSON.stringify(block['input'] ?? {});
  answer.calls.push({ name: text(block['name']), arguments: input === '{}' ? '' : input });
}

function chatUsage(usage: Json | undefined): Usage | null {
  if (!usage) return null;
  return {
    inputTokens: number(usage['prompt_tokens']),
    cachedTokens: number(usage['prompt_tokens_details']?.['cached_tokens']),
    cacheWriteTokens: number(usage['prompt_tokens_details']?.['cache_write_tokens']),
    outputTokens: number(usage['completion_tokens']),
    reasoningTokens: number(usage['completion_tokens_details']?.['reasoning_tokens']),
  };
}

/** Anthropic counts cached tokens apart from the input. */
function messagesUsage(usage: Json | undefined): Usage | null {
  if (!usage) return null;
  const cachedTokens = number(usage['cache_read_input_tokens']);
  const cacheWriteTokens = number(usage['cache_creation_input_tokens']);
  return {
    inputTokens: number(usage['input_tokens']) + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    outputTokens: number(usage['output_tokens']),
    reasoningTokens: 0,
  };
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value.map((item) => Object(item) as Json) : [];
}

function joined(parts: Json | undefined): string {
  return list(parts)
    .map((part) => text(part['text']) + text(part['refusal']))
    .join('');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
