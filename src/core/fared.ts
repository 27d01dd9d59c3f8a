/** How the requests of a model fared so far. */
export interface Fared {
  /** When the latest request was sent that was answered, in monotonic milliseconds. What failed before and fails since is at fault itself. */
  readonly workedAt: number;
  readonly answers: number;
  /** How often failures began, with a request that had not failed before; and whether those that are under way are among them. */
  readonly breaks: number;
  readonly isBreak: boolean;
}
