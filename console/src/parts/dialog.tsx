import { type ReactNode, useLayoutEffect, useId, useRef } from 'react';
import css from './dialog.module.css';

interface DialogProps {
  title: string;
  /** Called when the dialog closes by Escape, its buttons or the area around it. */
  onClose: () => void;
  /** Buttons, the main one last. */
  actions?: ReactNode;
  children: ReactNode;
}

/**
 * Modal dialog, open while it is rendered. It is the browser's own: it keeps the focus inside, gives it back afterwards, and makes the
 * page behind it inert.
 */
export function Dialog({ title, onClose, actions, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the element leaves the page: closing it gives the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={css.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <div className={css.content}>
        <h2 id={id}>{title}</h2>
        {children}
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
    </dialog>
  );
}
