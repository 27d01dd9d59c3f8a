import { Link } from '@tanstack/react-router';
import button from './button.module.css';

/** Main action of the screens that show batches. */
export function NewBatchLink() {
  return (
    <Link to="/batches/new" className={`${button.button} ${button.link}`} data-kind="primary">
      New batch
    </Link>
  );
}
