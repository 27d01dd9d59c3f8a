import type { ChatMessage, Tool } from '../../src/wire/chat/chat.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { frame, send, startFakeUpstream, streamed, usageFrame } from '../support/fake-upstream.ts';

/** Request as the upstream receives it. */
export interface ModelRequest {
  messages: ChatMessage[];
  tools?: Tool[];
  stream?: boolean;
  [name: string]: unknown;
}

/** Returns the error message for an invalid request. */
export type RequestCheck = (asked: ModelRequest) => string | undefined;

/** DeepSeek: requires the reasoning of turns that called tools. */
export const requireReasoning: RequestCheck = ({ messages }) =>
  messages.some(({ tool_calls: calls, reasoning_content: thoughts }) => calls?.length && !thoughts)
    ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
    : undefined;

/** Template of Qwen 3.5: requires system messages at the beginning. */
export const requireLeadingSystem: RequestCheck = ({ messages }) =>
  messages.findLastIndex(({ role }) => role === 'system') > 0
    ? 'System message must be at the beginning.'
    : undefined;

const members = new Set(
  `model messages stream stream_options max_tokens temperature top_p tools tool_choice parallel_tool_calls
  reasoning_effort`.split(/\s+/),
);
const ofMessages = new Set('role content tool_calls tool_call_id reasoning reasoning_content'.split(' '));

/** Rejects everything that the API reference does not name. */
export const requireKnownFields: RequestCheck = (asked) => {
  const other = Object.keys(asked).find((name) => !members.has(name));
  if (other) return `Unrecognized request argument supplied: ${other}`;
  const open = new Set<string>();
  for (const [
    at,
    { role, content, tool_call_id: id, tool_calls: calls, ...rest },
  ] of asked.messages.entries()) {
    const place = `messages[${at}]`;
    const unknown = Object.keys(rest).find((name) => !ofMessages.has(name));
    if (unknown) return `${place}.${unknown} is not supported`;
    if (role === 'tool' ? !open.delete(id ?? '') : open.size > 0)
      return `${place}: calls and results do not match`;
    if (role !== 'assistant' && (content === null || content === undefined))
      return `${place}.content is missing`;
    if (Array.isArray(content) && content.some(({ type, text }) => type !== 'text' || !text))
      return `${place}.content has an empty part, or one that is no text`;
    for (const call of calls ?? []) open.add(call.id);
  }
  const names = (asked.tools ?? []).map((tool) => tool.function.name);
  if (new Set(names).size < names.length) return 'tools: names are not unique';
  const long = names.find((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
  if (long) return `tools: ${long} is not a name`;
  const bad = (asked.tools ?? []).find(
    (tool) => (tool.function.parameters as { type?: string })?.type !== 'object',
  );
  return bad && `tools: the schema of ${bad.function.name} is not of the type object`;
};

export interface AgentModel extends FakeUpstream {
  asked: ModelRequest[];
  refused: string[];
}

/** Starts an upstream that follows the last `[[plan ...]]` of the user and reasons before each step. */
export async function startAgentModel(refusal: RequestCheck): Promise<AgentModel> {
  const asked: ModelRequest[] = [];
  const refused: string[] = [];
  const answer: Responder = (response, { path, text }) => {
    if (!path.endsWith('/chat/completions')) return send(response, 404, {});
    const request = JSON.parse(text) as ModelRequest;
    asked.push(request);
    const why = refusal(request);
    if (!why) return say(response, request);
    refused.push(why);
    return send(response, 400, { error: { message: why, type: 'invalid_request_error', code: null } });
  };
  return Object.assign(await startFakeUpstream(answer), { asked, refused });
}

interface Step {
  name: string;
  args: object;
}

const say = (response: Parameters<Responder>[0], { messages, tools = [], stream }: ModelRequest) => {
  const step = nextStep(messages, tools);
  const thoughts = { reasoning_content: `Step ${messages.length}.` };
  const called = typeof step === 'object' && {
    tool_calls: [
      {
        index: 0,
        id: `call_${messages.length}`,
        type: 'function',
        function: { name: step.name, arguments: JSON.stringify(step.args) },
      },
    ],
  };
  const finish = called ? 'tool_calls' : 'stop';
  const content = called ? 'I go on.' : (step as string);
  if (stream)
    return streamed([
      frame({ role: 'assistant', ...thoughts }),
      frame({ content }),
      ...(called ? [frame(called)] : []),
      frame({}, finish),
      usageFrame,
      'data: [DONE]\n\n',
    ])(response, {} as never);
  return send(response, 200, {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content, ...thoughts, ...called }, finish_reason: finish },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  });
};

const command = 'echo made by a tool';
const task = '[[plan child]] Say something with a tool.';

/** Tool calls of each plan, in order, by the tool names of the programs. */
const plans: Record<string, [pattern: RegExp, args: object][]> = {
  shell: [[/^(Bash|exec_command)$/, { command, cmd: command, description: 'Says something' }]],
  child: [[/^(Bash|exec_command)$/, { command, cmd: command, description: 'Says something' }]],
  agent: [
    [
      /^Agent$|spawn_agent$/,
      {
        prompt: task,
        message: task,
        description: 'Says something',
        subagent_type: 'general-purpose',
        task_name: 'child',
        fork_turns: 'none',
      },
    ],
    [/wait_agent$/, {}],
  ],
  find: [
    [/^ToolSearch$/, { query: 'select:mcp__depot__stock', max_results: 5 }],
    [/^tool_search$/, { query: 'stock' }],
    [/stock$/, { part: 'bolts' }],
  ],
};

function nextStep(messages: ChatMessage[], tools: Tool[]): Step | string {
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && planIn(textOf(content)));
  const plan = at < 0 ? undefined : planIn(textOf(messages[at]!.content));
  if (!plan) return 'Fine.';
  const results = messages.slice(at + 1).filter(({ role }) => role === 'tool').length;
  const steps = plans[plan]!.filter(
    ([pattern]) => tools.some((tool) => pattern.test(tool.function.name)) || pattern.source.includes('stock'),
  );
  const [pattern, given] = steps[results] ?? [];
  if (!pattern)
    return `${plan} said: ${messages
      .slice(at + 1)
      .map(({ content }) => textOf(content))
      .join(' | ')}`;
  const tool = tools.find((each) => pattern.test(each.function.name));
  if (!tool) return `${plan} found no tool ${pattern.source}`;
  const { properties = {} } = tool.function.parameters as { properties?: object };
  const args = Object.entries(given!).filter(([name]) => name in properties);
  return { name: tool.function.name, args: Object.fromEntries(args) };
}

const planIn = (text: string) => /\[\[plan (\w+)\]\]/.exec(text)?.[1];

function textOf(content: ChatMessage['content']): string {
  if (!Array.isArray(content)) return content ?? '';
  return content.map(({ text }) => text ?? '').join('\n');
}
