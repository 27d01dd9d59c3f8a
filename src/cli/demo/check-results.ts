import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { stringOr } from '../../base/fields.ts';
import type { ChatRequest, ChatResponse } from '../../wire/chat/chat.ts';
import type { ResultLine } from '../../client/resources.ts';

/** Request of the sample with its answer. */
export interface CheckedAnswer {
  customId: string;
  prompt: string;
  answer: string;
  kind: 'text' | 'json' | 'tool';
  /** Violation of the request, or null. */
  problem: string | null;
}

export interface Sample {
  answered: CheckedAnswer[];
  /** Ids of requests without a result. */
  missing: string[];
}

/** Checks every answer against the schema or the forced tool of its request. */
export function checkResults(inputPath: string, outputPath: string): Sample {
  const results = new Map(readLines<ResultLine>(outputPath).map((line) => [line.custom_id, line]));
  const missing: string[] = [];
  const answered = readLines<{ custom_id: string; body: ChatRequest }>(inputPath).flatMap((request) => {
    const result = results.get(request.custom_id);
    if (result?.response?.status_code === 200)
      return [checkAnswer(request.custom_id, request.body, result.response.body as ChatResponse)];
    missing.push(request.custom_id);
    return [];
  });
  return { answered, missing };
}

function checkAnswer(customId: string, request: ChatRequest, response: ChatResponse): CheckedAnswer {
  const prompt = request.messages.map(({ content }) => stringOr(content, '')).join('\n');
  const message = response.choices[0]?.message;
  const format = request.response_format;
  if (typeof request.tool_choice === 'object' && request.tool_choice !== null) {
    const wanted = request.tool_choice.function.name;
    const call = message?.tool_calls?.[0]?.function;
    const schema = request.tools?.find((tool) => tool.function.name === wanted)?.function.parameters ?? true;
    const problem = call?.name === wanted ? schemaError(schema, call.arguments) : `${wanted} was not called`;
    const answer = `${call?.name ?? ''}(${call?.arguments ?? ''})`;
    return { customId, prompt, answer, kind: 'tool', problem };
  }
  const answer = message?.content ?? '';
  if (format?.type !== 'json_schema') return { customId, prompt, answer, kind: 'text', problem: null };
  const problem = schemaError(format.json_schema.schema ?? true, answer);
  return { customId, prompt, answer, kind: 'json', problem };
}

/** Reason why a text is not JSON that conforms to the schema, or null. */
function schemaError(schema: Record<string, unknown> | boolean, text: string): string | null {
  const ajv = new Ajv();
  try {
    return ajv.validate(schema, JSON.parse(text)) ? null : ajv.errorsText();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function readLines<T>(path: string): T[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as T);
}
