import { type Format, type Language, paths } from './search.ts';

type Body = Readonly<Record<string, unknown>>;
interface Source {
  /** Base of the addresses of the server, without a slash at the end. */
  origin: string;
  format: Format;
  body: Body;
}

/** Program that sends a body and prints the answer, with the official client of the format. The key is in the environment. */
export function codeFor(language: Language, source: Source): string {
  return { curl, python, javascript }[language](source);
}

function curl({ origin, format, body }: Source): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return `curl ${body['stream'] === true ? '-N ' : ''}${origin}${paths[format]} \\
  -H "Authorization: Bearer $OFFPEAK_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}'
`;
}

function python({ origin, format, body }: Source): string {
  const isAnthropic = format === 'messages';
  const client = isAnthropic
    ? `Anthropic(base_url="${origin}", auth_token=os.environ["OFFPEAK_API_KEY"])`
    : `OpenAI(base_url="${origin}/v1", api_key=os.environ["OFFPEAK_API_KEY"])`;
  const members = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value, 1)},\n`);
  const { call, printed, event } = pythonParts[format];
  const hasCalls = 'tools' in body;
  const end =
    body['stream'] === true
      ? `for event in answer:\n${hasCalls ? '    print(event.to_json(indent=None))\n' : `${event}print()\n`}`
      : `print(${hasCalls ? 'answer.to_json()' : printed})\n`;
  return `# pip install ${isAnthropic ? 'anthropic' : 'openai'}
import os
from ${isAnthropic ? 'anthropic import Anthropic' : 'openai import OpenAI'}

client = ${client}
answer = ${call}(
${members.join('')})
${end}`;
}

const pythonParts: Readonly<Record<Format, { call: string; printed: string; event: string }>> = {
  chat: {
    call: 'client.chat.completions.create',
    printed: 'answer.choices[0].message.content',
    event: `    if event.choices and event.choices[0].delta.content:
        print(event.choices[0].delta.content, end="", flush=True)
`,
  },
  responses: {
    call: 'client.responses.create',
    printed: 'answer.output_text',
    event: `    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)
`,
  },
  messages: {
    call: 'client.messages.create',
    printed: '"".join(block.text for block in answer.content if block.type == "text")',
    event: `    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        print(event.delta.text, end="", flush=True)
`,
  },
};

/** Python literal. Strings of JSON are strings of Python. */
function literal(value: unknown, depth: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => literal(item, depth + 1))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, depth + 1)}`);
  const [open, close] = isList ? '[]' : '{}';
  if (items.length === 0) return `${open}${close}`;
  const indent = '    '.repeat(depth);
  return `${open}\n${items.map((item) => `${indent}    ${item},\n`).join('')}${indent}${close}`;
}

function javascript({ origin, format, body }: Source): string {
  const isAnthropic = format === 'messages';
  const { call, printed, event } = scriptParts[format];
  const hasCalls = 'tools' in body;
  const end =
    body['stream'] === true
      ? `for await (const event of answer) {\n  ${hasCalls ? 'console.log(JSON.stringify(event));' : event}\n}\n`
      : `console.log(${hasCalls ? 'JSON.stringify(answer, null, 2)' : printed});\n`;
  const client = isAnthropic
    ? `Anthropic({ baseURL: '${origin}', authToken: process.env.OFFPEAK_API_KEY })`
    : `OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.OFFPEAK_API_KEY })`;
  return `// npm install ${isAnthropic ? '@anthropic-ai/sdk' : 'openai'}, saved as a .mjs file
import ${isAnthropic ? "Anthropic from '@anthropic-ai/sdk'" : "OpenAI from 'openai'"};

const client = new ${client};
const answer = await ${call}(${JSON.stringify(body, null, 2)});
${end}`;
}

const scriptParts: Readonly<Record<Format, { call: string; printed: string; event: string }>> = {
  chat: {
    call: 'client.chat.completions.create',
    printed: 'answer.choices[0].message.content',
    event: `process.stdout.write(event.choices[0]?.delta.content ?? '');`,
  },
  responses: {
    call: 'client.responses.create',
    printed: 'answer.output_text',
    event: `if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);`,
  },
  messages: {
    call: 'client.messages.create',
    printed: `answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')`,
    event: `if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
    process.stdout.write(event.delta.text);`,
  },
};
