import { words } from '../base/words.ts';
import type { DirectKind } from './model.ts';

/** Kinds of upstream servers. */
export const flavors = words(
  'vllm sglang llama-server ollama openai azure openrouter gemini mistral deepseek xai anthropic offpeak generic',
);
export type Flavor = (typeof flavors)[number];

/** Flavors that keep the prefix caches of different salts apart. */
export const saltedFlavors: readonly Flavor[] = ['vllm', 'sglang'];

export const usageFigures = [
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const;
export type UsageFigure = (typeof usageFigures)[number];

/** Statuses that a failure rule may map to: they distinguish faults of the request, key, credit, model and server. */
export const failureStatuses = [400, 401, 402, 403, 404, 408, 413, 429, 500, 503] as const;
export type FailureStatus = (typeof failureStatuses)[number];

/** Rule that maps a server's failure to a standard status. All given conditions must match. */
export interface CustomFailure {
  status?: number;
  code?: string;
  /** Beginning of the message. */
  says?: string;
  means: FailureStatus;
}

export const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter'] as const;

/** Configured traits of a server, on top of the most similar flavor. */
export interface CustomTraits {
  /** Relative to the base URL; `{model}` is replaced by the server's model name. */
  paths: Partial<Record<'chat' | DirectKind, string>>;
  auth?: { header?: string; scheme?: string };
  /** Additional request fields. */
  fields: string[];
  /** Renamed request fields: the server's name by ours. */
  names: Record<string, string>;
  /** Request fields to omit. */
  without: string[];
  /** Paths of usage figures in answers and stream events. */
  usage: Partial<Record<UsageFigure, string[]>>;
  /** Our finish reason by the server's. */
  finish: Record<string, (typeof finishReasons)[number]>;
  /** The server's reasoning effort by ours. */
  effort?: Record<string, string>;
  failures: CustomFailure[];
}
