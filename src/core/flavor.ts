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
