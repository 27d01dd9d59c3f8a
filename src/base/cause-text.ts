/** One line, without a stack: `ECONNREFUSED: connect ECONNREFUSED 10.0.0.5:8000`. */
export function causeText(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === 'string' ? cause : undefined;
  const { code, message, cause: origin } = cause as Error & { code?: unknown };
  const own = typeof code === 'string' ? `${code}: ${message}` : message;
  return origin === undefined ? own : `${own} (${causeText(origin)})`;
}
