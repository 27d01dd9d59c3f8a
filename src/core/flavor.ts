/** Kinds of servers that answer what a chat completion asks for, which differ in how. */
export const flavors = [
  'vllm',
  'sglang',
  'llama-server',
  'ollama',
  'openai',
  'azure',
  'openrouter',
  'gemini',
  'mistral',
  'deepseek',
  'xai',
  'anthropic',
  'offpeak',
  'generic',
] as const;
export type Flavor = (typeof flavors)[number];

export const usageFigures = [
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const;
export type UsageFigure = (typeof usageFigures)[number];

/** By what a failure may be judged: by each of these, requests, keys, credit, models and servers are told apart. */
export const failureStatuses = [400, 401, 402, 403, 404, 408, 413, 429, 500, 503] as const;
export type FailureStatus = (typeof failureStatuses)[number];

/** A failure that a server tells in a way of its own, and the status that says the same elsewhere. */
export interface CustomFailure {
  status?: number;
  code?: string;
  /** How its sentence begins. */
  says?: string;
  means: FailureStatus;
}

export const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter'] as const;

/** What the configuration says of a server that no flavor describes, over the one that it is most like. */
export interface CustomTraits {
  /** Behind the base of the URL; `{model}` stands for the server's name of the model. */
  paths: { chat?: string; embeddings?: string };
  auth?: { header?: string; scheme?: string };
  /** Members of requests that it is sent beside those of all. */
  fields: string[];
  /** What it calls a member that has another name here. */
  names: Record<string, string>;
  /** Members of requests that it is not sent. */
  without: string[];
  /** Where its answers tell what, as the names on the way there; in events of streams likewise. */
  usage: Partial<Record<UsageFigure, string[]>>;
  /** Its words for why an answer ended, and ours. */
  finish: Record<string, (typeof finishReasons)[number]>;
  /** Its words for how hard to think, by ours. */
  effort?: Record<string, string>;
  failures: CustomFailure[];
}
