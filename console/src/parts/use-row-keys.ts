import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';

interface RowKeysOptions {
  count: number;
  /** Opens a row; absent where rows do not open. */
  open: ((index: number) => void) | undefined;
  /** Selects a row, or no longer; absent where rows cannot be selected. */
  toggle?: ((index: number) => void) | undefined;
  scrollTo: (index: number) => void;
}

/** Keyboard of the rows of a table: one row can have the focus; arrows or j and k move it, Home and End too, Enter opens it, x selects it. */
export function useRowKeys(
  box: RefObject<HTMLElement | null>,
  { count, open, toggle, scrollTo }: RowKeysOptions,
) {
  const [active, setActive] = useState(0);
  const current = Math.min(active, Math.max(0, count - 1));
  const focused = useRef<HTMLElement>(null);
  const lastCount = useRef(count);

  useEffect(() => {
    const element = box.current;
    const onFocus = ({ target }: FocusEvent) => {
      if ((target as HTMLElement).tagName === 'TR') focused.current = target as HTMLElement;
    };
    // A row that is removed loses the focus, too.
    const onBlur = ({ target }: FocusEvent) =>
      queueMicrotask(() => {
        if ((target as HTMLElement).isConnected && !openDialog()) focused.current = null;
      });
    element?.addEventListener('focusin', onFocus);
    element?.addEventListener('focusout', onBlur);
    return () => {
      element?.removeEventListener('focusin', onFocus);
      element?.removeEventListener('focusout', onBlur);
    };
  }, [box]);

  // A row that had the focus may be gone, such as that of a revoked key: the row in its place gets it, after a dialog has closed. A row
  // that is only out of view leaves the count as it is.
  useEffect(() => {
    const isFewer = count < lastCount.current;
    lastCount.current = count;
    if (focused.current?.isConnected !== false) return;
    focused.current = null;
    const recover = () => {
      if (document.activeElement === document.body) focus(current);
    };
    if (!isFewer || count === 0) return;
    const dialog = openDialog();
    if (dialog) dialog.addEventListener('close', recover, { once: true });
    else recover();
  });

  function focus(index: number): void {
    setActive(index);
    scrollTo(index);
    // After the row is rendered, which may have been out of view.
    requestAnimationFrame(() => {
      box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`)?.focus();
    });
  }

  return {
    setActive,
    rowProps: (index: number) =>
      open ? { tabIndex: index === current ? 0 : -1, onFocus: () => setActive(index) } : {},
    /** True for the row that the Tab key reaches. */
    isCurrent: (index: number) => index === current,
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (!open || event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      if (target.tagName !== 'TR') return;
      const to = targetRow(event.key, current, count);
      if (to !== undefined) focus(to);
      else if (event.key === 'Enter') open(current);
      else if (event.key === 'x' && toggle) toggle(current);
      else return;
      event.preventDefault();
    },
  };
}

function openDialog(): Element | null {
  return document.querySelector('dialog[open]');
}

/** Row to which a key moves the focus. */
export function targetRow(key: string, current: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === 'ArrowDown' || key === 'j') return Math.min(current + 1, count - 1);
  if (key === 'ArrowUp' || key === 'k') return Math.max(current - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return undefined;
}
