import { type ReactNode, useId } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import css from './keys.module.css';

interface FormDialogProps {
  title: string;
  /** Word on the button that does it. */
  action: string;
  kind?: 'primary' | 'danger';
  isBusy: boolean;
  error: Error | null;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Dialog with a form, whose error is shown above the buttons. */
export function FormDialog({ title, action, kind = 'primary', isBusy, error, ...props }: FormDialogProps) {
  const id = useId();
  return (
    <Dialog
      title={title}
      onClose={props.onClose}
      actions={
        <>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button kind={kind} type="submit" form={id} isBusy={isBusy}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          props.onSubmit();
        }}
      >
        {props.children}
        <p role="alert" className={css.error}>
          {error?.message}
        </p>
      </form>
    </Dialog>
  );
}
