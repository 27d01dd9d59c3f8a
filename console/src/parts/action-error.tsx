/** Says why an action failed; nothing without an error. */
export function ActionError({ error }: { error: Error | null }) {
  return <div role="alert">{error && <p className="alert">The action failed: {error.message}</p>}</div>;
}
