import { text as readAll } from 'node:stream/consumers';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import type { ChatMessage, ChatRequest } from '../../wire/chat/chat.ts';
import { cleanText } from '../terminal/clean-text.ts';
import { clientCommand, examples, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { interruptible } from '../shared/signals.ts';
import { reportError } from '../shared/report.ts';

interface Options extends ClientOptions {
  model: string;
  system?: string;
  maxTokens?: number;
  temperature?: number;
}

export function chat(cli: Cli): Command {
  return clientCommand('chat')
    .argument('[prompt...]', 'question; without it, standard input, or a conversation on a terminal')
    .option('-m, --model <model>', 'id or alias of the model', 'default')
    .option('-s, --system <text>', 'system message')
    .option('--max-tokens <n>', 'maximum length of the answer', wholeNumber('--max-tokens', 1, 1_000_000))
    .option('--temperature <t>', 'from 0 to 2', readTemperature)
    .addHelpText(
      'after',
      examples('"What is the capital of France?"', '-m qwen3-32b -s "Answer in one word." --temperature 0'),
    )
    .action(async (words: string[], options: Options) => {
      const client = connect(cli, options);
      const interactive = words.length === 0 && cli.terminal.stdin.isTTY === true && options.json !== true;
      if (interactive) return converse(cli, client, options);
      const prompt = words.length > 0 ? words.join(' ') : (await readAll(cli.terminal.stdin)).trim();
      if (prompt === '')
        throw new CliError('The prompt is empty.', 'Pass a prompt as an argument or through stdin.');
      const messages = [...systemMessages(options), { role: 'user' as const, content: prompt }];
      if (options.json === true) return cli.terminal.json(await client.chat(toRequest(options, messages)));
      await interruptible(cli, undefined, (signal) => answer(cli, client, { options, messages, signal }));
    });
}

/** Runs a conversation until the input ends. */
async function converse(cli: Cli, client: Client, options: Options): Promise<void> {
  const { terminal } = cli;
  const messages = systemMessages(options);
  terminal.note(
    terminal.paintNote('dim', `Chatting with ${options.model}. Ctrl-C stops an answer, Ctrl-D exits.`),
  );
  const prompt = createInterface({ input: terminal.stdin, output: terminal.stderr });
  let stop = new AbortController();
  let waiting: AbortController | undefined;
  prompt.on('SIGINT', () => (waiting === undefined ? stop.abort() : waiting.abort()));
  prompt.on('close', () => waiting?.abort());
  try {
    for (;;) {
      waiting = new AbortController();
      const question = await prompt.question('> ', { signal: waiting.signal }).catch(() => undefined);
      waiting = undefined;
      if (question === undefined) return;
      if (question.trim() === '') continue;
      stop = new AbortController();
      messages.push({ role: 'user', content: question });
      const reply = await answer(cli, client, { options, messages, signal: stop.signal }).catch(
        (error: unknown) => {
          reportError(error, cli, false);
          return undefined;
        },
      );
      // Models expect an answer after each question.
      if (reply === undefined) messages.pop();
      else messages.push({ role: 'assistant', content: reply });
    }
  } finally {
    prompt.close();
  }
}

interface ChatTurn {
  options: Options;
  messages: ChatMessage[];
  signal: AbortSignal;
}

/** Streams an answer to stdout and returns it. */
async function answer(cli: Cli, client: Client, { options, messages, signal }: ChatTurn): Promise<string> {
  const { stdout } = cli.terminal;
  let reply = '';
  try {
    for await (const chunk of client.chatStream(toRequest(options, messages), signal)) {
      const text = chunk.choices[0]?.delta.content ?? '';
      reply += text;
      stdout.write(stdout.isTTY === true ? cleanText(text) : text);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    cli.exitCode = exitCodes.interrupted;
  } finally {
    if (reply !== '') stdout.write('\n');
  }
  return reply;
}

function toRequest({ model, maxTokens, temperature }: Options, messages: ChatMessage[]): ChatRequest {
  return { model, messages, max_tokens: maxTokens, temperature };
}

function systemMessages(options: Options): ChatMessage[] {
  return options.system === undefined ? [] : [{ role: 'system', content: options.system }];
}

function readTemperature(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 2) return value;
  throw new CliError(`--temperature must be a number from 0 to 2, not '${text}'.`);
}
