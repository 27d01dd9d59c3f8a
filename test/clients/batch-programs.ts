import type { Program } from './programs.ts';

/** Published clients of batches, each against the surface that it is meant for. */
export const batchPrograms: readonly Program[] = [
  {
    name: 'Vercel AI SDK 7',
    script: 'batches/ai-sdk.mjs',
    packages: { ai: '7.0.173', '@ai-sdk/openai': '4.0.118', '@ai-sdk/anthropic': '4.0.105', zod: '4.6.7' },
  },
  { name: 'openai for JavaScript', script: 'batches/openai.mjs', packages: { openai: '7.59.0' } },
  { name: 'openai for Python', script: 'batches/openai_cells.py', packages: { openai: '3.57.0' } },
  {
    name: 'anthropic for JavaScript',
    script: 'batches/anthropic.mjs',
    packages: { '@anthropic-ai/sdk': '1.14.0' },
  },
  { name: 'anthropic for Python', script: 'batches/anthropic_cells.py', packages: { anthropic: '2.14.0' } },
  {
    name: 'openai-go',
    script: 'batches/openai.go',
    packages: { 'github.com/openai/openai-go/v3': '3.99.0' },
  },
  {
    name: 'anthropic-sdk-go',
    script: 'batches/anthropic.go',
    packages: { 'github.com/anthropics/anthropic-sdk-go': '1.84.0' },
  },
  {
    name: 'openai-java',
    script: 'batches/OpenAiBatches.java',
    packages: { 'com.openai:openai-java': '4.101.0' },
  },
  {
    name: 'async-openai',
    script: 'batches/async_openai.rs',
    packages: {
      'async-openai[batch,file]': '0.43.0',
      'serde_json[std]': '1.0.145',
      'tokio[rt,macros,time]': '1.48.0',
    },
  },
  {
    name: 'LiteLLM',
    script: 'batches/litellm_cells.py',
    packages: { litellm: '1.106.2' },
  },
  {
    name: 'LiteLLM proxy',
    script: 'batches/litellm_proxy_cells.py',
    packages: { 'litellm[proxy]': '1.106.2' },
  },
  {
    name: 'LangChain for Python',
    script: 'batches/langchain_cells.py',
    packages: { 'langchain-openai': '1.7.3', 'langchain-anthropic': '1.7.7' },
  },
  {
    name: 'the OpenAI CLI',
    script: 'batches/openai-cli.mjs',
    packages: {},
    checkout: { variable: 'OFFPEAK_OPENAI_CLI', file: 'cmd/openai/main.go', version: '1.8.0' },
  },
  {
    name: 'batchwork for JavaScript',
    script: 'batches/batchwork.mjs',
    packages: {
      ai: '7.0.173',
      '@ai-sdk/openai': '4.0.118',
      '@ai-sdk/azure': '4.0.85',
      '@ai-sdk/anthropic': '4.0.105',
      tsx: '4.23.15',
    },
    checkout: {
      variable: 'OFFPEAK_BATCHWORK',
      file: 'packages/batchwork/src/index.ts',
      version: '1.4.0',
    },
  },
  {
    name: 'batchwork for Python',
    script: 'batches/batchwork_cells.py',
    packages: { 'batchwork-ai': '0.3.0' },
  },
  {
    name: 'inspect_ai',
    script: 'batches/inspect_cells.py',
    packages: { 'inspect-ai': '0.3.285', openai: '3.57.0', anthropic: '2.14.0' },
  },
  { name: 'curator', script: 'batches/curator_cells.py', packages: { 'bespokelabs-curator': '0.1.31' } },
  { name: 'autobatcher', script: 'batches/autobatcher_cells.py', packages: { autobatcher: '0.12.0' } },
  { name: 'any-llm', script: 'batches/any_llm_cells.py', packages: { 'any-llm-sdk[openai]': '1.40.2' } },
];
