/** Kinds of servers that speak chat completions, which differ in what they do with it. */
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
  'offpeak',
  'generic',
] as const;
export type Flavor = (typeof flavors)[number];
