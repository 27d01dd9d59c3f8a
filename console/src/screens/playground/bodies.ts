import type { Prompt } from './draft.ts';
import type { Format } from './search.ts';

/** Body of a request in a format, with its members in the order in which people write them. */
export function toBody(format: Format, model: string, prompt: Prompt): Record<string, unknown> {
  if (format === 'chat') return chatBody(model, prompt);
  return format === 'responses' ? responsesBody(model, prompt) : messagesBody(model, prompt);
}

function chatBody(model: string, prompt: Prompt): Record<string, unknown> {
  const { system, messages, tools, schema, temperature, maxTokens, stream } = prompt;
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(schema && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
    }),
    ...(temperature !== undefined && { temperature }),
    max_completion_tokens: maxTokens,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

function responsesBody(model: string, prompt: Prompt): Record<string, unknown> {
  const { system, messages, tools, schema, temperature, maxTokens, stream } = prompt;
  return {
    model,
    ...(system !== undefined && { instructions: system }),
    input: messages,
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })) }),
    ...(schema && { text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } } }),
    ...(temperature !== undefined && { temperature }),
    max_output_tokens: maxTokens,
    store: false,
    ...(stream && { stream: true }),
  };
}

function messagesBody(model: string, prompt: Prompt): Record<string, unknown> {
  const { system, messages, tools, schema, temperature, maxTokens, stream } = prompt;
  return {
    model,
    ...(system !== undefined && { system }),
    messages,
    ...(tools.length > 0 && {
      tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
    ...(temperature !== undefined && { temperature }),
    max_tokens: maxTokens,
    ...(stream && { stream: true }),
  };
}
