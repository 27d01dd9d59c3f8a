import { ApiError } from '../../../core/errors.ts';

/** Refusal by a server or its chat template because of the positions of system messages. */
export class SystemPlacementError extends ApiError {
  /** True where the server accepts no system messages at all. */
  readonly everywhere: boolean;

  constructor(tail: string, everywhere: boolean) {
    super('request_refused', `The model's server refused the request ${tail}`);
    this.everywhere = everywhere;
  }
}

/** Gemma; OpenAI models from before system messages. */
const noSystem =
  /(?<!multiple )\bsystem (role|message|prompt)s? (is |are )?not supported|does not support '?system\b|only user,? (and )?assistant( and (tool|model))? roles are/i;

/** The role in quotes or after a label, or a message with it. */
const system = String.raw`(?:['"\`]system['"\`]|(?:\brole|\]):? system\b|\bsystem['"\`]? (?:message|role|prompt|instruction)s?\b)`;
const oneOf = (words: string) => String.raw`\b(?:${words})\b`;

const misplaced: readonly RegExp[] = [
  // Qwen 3.5 and others: "System message must be at the beginning."
  new RegExp(
    `${system}[^.]{0,60}${oneOf('begin|beginning|start|first|once|precede|before|top|middle|(?:index|position) 0')}`,
    'i',
  ),
  new RegExp(`${oneOf('begin|beginning|start|first|one|multiple|unexpected')}[^.]{0,40}${system}`, 'i'),
  // Mistral: "Expected last role User or Tool ... but got system", "Unexpected role 'system' after role 'user'"
  /\b(expected|unexpected|invalid|unsupported|unknown)\b[^.]{0,20}\brole\b[^.]{0,140}\bsystem\b/i,
  // A system message that was converted to a user turn.
  /\bunexpected role '?user'? after role '?(tool|user)/i,
  // Templates of Mistral, Llama 2 and Gemma.
  /roles? must alternate|should alternate with/i,
];

/** Kind of a refusal of system messages; undefined for any other error message. */
export function systemRefusal(message: string): 'misplaced' | 'everywhere' | undefined {
  if (noSystem.test(message)) return 'everywhere';
  return misplaced.some((pattern) => pattern.test(message)) ? 'misplaced' : undefined;
}
