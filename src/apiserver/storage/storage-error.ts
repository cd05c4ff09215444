import { AgentError, type ErrorCode } from '../../base/errors.ts';

/**
 * StorageError is thrown when a file or folder of the data directory cannot be used; the message names it.
 *
 * @example
 * if (error instanceof StorageError) console.error(`restore the file or choose another directory: ${error.message}`);
 */
export class StorageError extends AgentError {
  override readonly name = 'StorageError';
  readonly file: string;

  constructor(code: ErrorCode, file: string, why: string, options?: ErrorOptions) {
    super(code, `${file} ${why}`, options);
    this.file = file;
  }
}

/** Returns the error for damaged data. */
export const damaged = (file: string, why: string, cause?: unknown): StorageError =>
  new StorageError(
    'failed_precondition',
    file,
    `is damaged: ${why}; restore it from a backup, or move it away to begin with nothing`,
    { cause },
  );
