import { type FormEvent, useId, useRef } from 'react';
import { type SessionEnd, useSignIn } from '../api/session.ts';
import { ApiFailure } from '../api/failure.ts';
import { Button } from '../parts/button.tsx';
import { Code } from '../parts/code.tsx';
import css from './sign-in.module.css';

/** @param end how the session before has ended */
export function SignIn({ end }: { end: SessionEnd }) {
  const signIn = useSignIn();
  const input = useRef<HTMLInputElement>(null);
  const id = useId();

  function submit(event: FormEvent): void {
    event.preventDefault();
    const key = input.current?.value.trim() ?? '';
    if (key === '') return input.current?.focus();
    signIn.mutate(key, { onError: () => input.current?.select() });
  }

  return (
    <main className={css.page}>
      <title>Sign in · Offpeak</title>
      <form className={css.form} onSubmit={submit} noValidate>
        <h1>Sign in to Offpeak</h1>
        {end === 'expired' && <p role="status">Your session has ended. Sign in to go on where you were.</p>}
        {end === 'signed out' && <p role="status">You are signed out.</p>}
        <div className={css.field}>
          <label htmlFor={id}>API key</label>
          <input
            ref={input}
            id={id}
            type="password"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            autoFocus
            required
            aria-invalid={signIn.isError}
            aria-describedby={`${id}-error`}
          />
          <p id={`${id}-error`} role="alert" className={css.error}>
            {signIn.isError && explain(signIn.error)}
          </p>
        </div>
        <Button kind="primary" type="submit" isBusy={signIn.isPending}>
          Sign in
        </Button>
        <p className="quiet">
          The first start of the server printed a key. An administrator creates others. To show all orgs, sign
          in with an admin key.
        </p>
        <Code label="Create a key" text="offpeak keys create --org default --name console" />
      </form>
    </main>
  );
}

function explain(error: Error): string {
  if (!(error instanceof ApiFailure)) return error.message;
  if (error.status === 422) return 'This is no API key: a key is one word without spaces.';
  if (error.code === 'unreachable') return 'The server does not answer. Try again.';
  return error.message;
}
