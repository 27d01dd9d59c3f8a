/** What is run against Offpeak as it was published: versions are exact, and what they need is of `packagesBefore` at most. */
export interface Program {
  /** As `docs/clients.md` says it. */
  name: string;
  /** Its file in `programs/`: `.mjs` is run by Node, `.py` by Python. */
  script: string;
  /** By name, from npm or PyPI. The first one's version is the program's. */
  packages: Record<string, string>;
}

export const packagesBefore = '2026-11-22';

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
    packages: { '@openai/agents': '0.20.0', openai: '7.57.0', zod: '4.6.7' },
  },
];

/** With its version. */
export const nameOf = ({ name, packages }: Program): string => `${name} (${Object.values(packages)[0]})`;
