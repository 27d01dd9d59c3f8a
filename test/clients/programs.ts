/** Published program to run against Offpeak: exact versions, with dependencies published before `packageCutoff`. */
export interface Program {
  /** Name in `docs/clients.md`. */
  name: string;
  /** File in `programs/`: Node runs `.mjs`, Python `.py` and Java `.java`; `.go` and `.rs` are built first. */
  script: string;
  /** Packages and versions from the registry of the language. The first is the program itself. */
  packages: Record<string, string>;
  /**
   * Environment variable with the path of a source checkout, and a file in it. If the file is in Go, its package is
   * built. Only those with a version, which the program checks, have a row in the table.
   */
  checkout?: { variable: string; file: string; version?: string };
}

export const packageCutoff = '2026-11-25';

export const programs: readonly Program[] = [
  {
    name: 'Vercel AI SDK 7',
    script: 'ai-sdk.mjs',
    packages: {
      ai: '7.0.173',
      '@ai-sdk/openai': '4.0.118',
      '@ai-sdk/openai-compatible': '3.0.92',
      '@ai-sdk/anthropic': '4.0.105',
      zod: '4.6.7',
    },
  },
  {
    name: 'Vercel AI SDK 6',
    script: 'ai-sdk.mjs',
    packages: {
      ai: '6.0.324',
      '@ai-sdk/openai': '3.0.141',
      '@ai-sdk/openai-compatible': '2.0.91',
      '@ai-sdk/anthropic': '3.0.139',
      zod: '4.6.7',
    },
  },
  {
    name: 'Mastra',
    script: 'mastra.mjs',
    packages: {
      '@mastra/core': '1.71.0',
      '@ai-sdk/openai': '3.0.141',
      '@ai-sdk/anthropic': '3.0.139',
      zod: '4.6.7',
    },
  },
  {
    name: 'LangChain for JavaScript',
    script: 'langchain.mjs',
    packages: {
      langchain: '1.5.14',
      '@langchain/openai': '1.6.0',
      '@langchain/anthropic': '1.5.11',
      '@langchain/core': '1.4.0',
      zod: '4.6.7',
    },
  },
  {
    name: 'OpenAI Agents for JavaScript',
    script: 'openai-agents.mjs',
    packages: { '@openai/agents': '0.20.0', openai: '7.59.0', zod: '4.6.7' },
  },
  {
    name: 'LangChain for Python',
    script: 'langchain_cells.py',
    packages: { langchain: '1.4.7', 'langchain-openai': '1.7.3', 'langchain-anthropic': '1.7.7' },
  },
  {
    name: 'OpenAI Agents for Python',
    script: 'openai_agents_cells.py',
    packages: { 'openai-agents': '0.24.0' },
  },
  {
    name: 'pydantic-ai',
    script: 'pydantic_ai_cells.py',
    packages: { 'pydantic-ai-slim[openai,anthropic]': '2.68.0' },
  },
  {
    name: 'instructor',
    script: 'instructor_cells.py',
    packages: { instructor: '1.17.0', anthropic: '2.14.0' },
  },
  {
    name: 'LiteLLM',
    script: 'litellm_cells.py',
    // The last two are for tools and retries.
    packages: { litellm: '1.106.2', mcp: '2.3.0', tenacity: '9.2.1' },
  },
  { name: 'llm', script: 'llm_cells.py', packages: { llm: '0.36' } },
  { name: 'curator', script: 'curator_cells.py', packages: { 'bespokelabs-curator': '0.1.31' } },
  { name: 'Codex', script: 'codex.mjs', packages: { '@openai/codex': '0.169.0' } },
  { name: 'Claude Code', script: 'claude-code.mjs', packages: { '@anthropic-ai/claude-code': '2.1.330' } },
  {
    name: 'the compatibility test of gpt-oss',
    script: 'gpt-oss.mjs',
    packages: {
      '@openai/agents': '0.0.15',
      ajv: '8.17.1',
      listr2: '9.0.1',
      openai: '5.12.2',
      tsx: '4.23.15',
    },
    checkout: { variable: 'OFFPEAK_GPT_OSS', file: 'compatibility-test/index.ts' },
  },
  {
    name: 'the compliance test of Open Responses',
    script: 'open-responses.mjs',
    packages: { zod: '3.25.76', tsx: '4.23.15' },
    checkout: { variable: 'OFFPEAK_OPEN_RESPONSES', file: 'bin/compliance-test.ts' },
  },
];

/** Name with version. */
export const versionedName = ({ name, packages, checkout }: Program): string =>
  `${name} (${checkout?.version ?? Object.values(packages)[0]})`;
