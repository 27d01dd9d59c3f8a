import { createInterface } from 'node:readline/promises';
import type { Terminal } from '../../terminal/terminal.ts';

export type Choice = 'leave' | 'cancel' | 'continue';

/** What to do with a running batch after Ctrl-C. A second Ctrl-C, or an end of input, leaves it running. */
export async function askAtInterrupt(terminal: Terminal): Promise<Choice> {
  if (terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) return 'leave';
  const prompt = createInterface({ input: terminal.stdin, output: terminal.stderr });
  const stop = new AbortController();
  prompt.on('SIGINT', () => stop.abort());
  prompt.on('close', () => stop.abort());
  try {
    const question = '\n[l]eave it running, [c]ancel it, or [Enter] to go on waiting? ';
    const answer = (await prompt.question(question, { signal: stop.signal })).trim().toLowerCase();
    if (answer.startsWith('l')) return 'leave';
    return answer.startsWith('c') ? 'cancel' : 'continue';
  } catch {
    return 'leave';
  } finally {
    prompt.close();
  }
}
