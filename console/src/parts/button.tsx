import type { ComponentProps } from 'react';
import css from './button.module.css';

interface ButtonProps extends ComponentProps<'button'> {
  /** `primary`: the main action of a screen; `danger`: it cannot be undone; `quiet`: without a border. */
  kind?: 'normal' | 'primary' | 'danger' | 'quiet';
  /** True while its action runs: it takes no more clicks, and keeps the focus. */
  isBusy?: boolean;
}

export function Button({ kind = 'normal', isBusy = false, onClick, type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={css.button}
      data-kind={kind}
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
    />
  );
}
