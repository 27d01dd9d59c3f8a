import type { Fields } from '../../../base/fields.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { AnswerSchema } from './answer-schema.ts';

export interface BodyOptions {
  endpoint: string;
  model: string;
  schema: AnswerSchema | undefined;
  /** More fields of the body. */
  settings: Fields;
}

/** Makes request bodies of prompts. */
export type BodyMaker = (prompt: string, system: string | undefined) => Fields;

/** Answer tokens of a message by default: the format requires a limit. */
const messageTokens = 1024;

const makers: Record<string, (options: BodyOptions) => BodyMaker> = {
  '/v1/chat/completions': ({ model, schema, settings }) => {
    const format = schema && { response_format: { type: 'json_schema', json_schema: schema.format } };
    return (prompt, system) => ({ model, messages: chat(prompt, system), ...format, ...settings });
  },
  '/v1/responses': ({ model, schema, settings }) => {
    const text = schema && { text: { format: { type: 'json_schema', ...schema.format } } };
    return (prompt, system) => ({
      model,
      ...(system !== undefined && { instructions: system }),
      input: prompt,
      ...text,
      ...settings,
    });
  },
  '/v1/messages': ({ model, schema, settings }) => {
    refuse('--schema', schema, '/v1/messages');
    return (prompt, system) => ({
      model,
      max_tokens: messageTokens,
      ...(system !== undefined && { system }),
      messages: [{ role: 'user', content: prompt }],
      ...settings,
    });
  },
  '/v1/completions': ({ model, schema, settings }) => {
    refuse('--schema', schema, '/v1/completions');
    return (prompt, system) => {
      refuse('--system', system, '/v1/completions');
      return { model, prompt, ...settings };
    };
  },
  '/v1/embeddings': ({ model, schema, settings }) => {
    refuse('--schema', schema, '/v1/embeddings');
    return (prompt, system) => {
      refuse('--system', system, '/v1/embeddings');
      return { model, input: prompt, ...settings };
    };
  },
  '/v1/moderations': ({ model, schema, settings }) => {
    refuse('--schema', schema, '/v1/moderations');
    return (prompt, system) => {
      refuse('--system', system, '/v1/moderations');
      return { model, input: prompt, ...settings };
    };
  },
};

/** @throws CliError for an endpoint without prompts */
export function bodyMaker(options: BodyOptions): BodyMaker {
  const make = makers[options.endpoint];
  if (make === undefined)
    throw new CliError(
      `--endpoint ${options.endpoint} takes no --prompt.`,
      `Endpoints for prompts: ${Object.keys(makers).join(', ')}.`,
    );
  return make(options);
}

function chat(prompt: string, system: string | undefined): Fields[] {
  const user = { role: 'user', content: prompt };
  return system === undefined ? [user] : [{ role: 'system', content: system }, user];
}

function refuse(option: string, value: unknown, endpoint: string): void {
  if (value !== undefined) throw new CliError(`${option} cannot be combined with --endpoint ${endpoint}.`);
}
