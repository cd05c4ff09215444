/**
 * Names of files are bytes, which need not be UTF-8: those that a container or another machine gave its files are lost, and the files with them, when they are read as
 * text. A byte path has each byte as a character. List with {@link byteNames}, ask the system with {@link onDisk}.
 */
export const bytePath = (path: string): string => Buffer.from(path).toString('latin1');

/** The encoding in which the system's names are parts of a byte path. */
export const byteNames = 'latin1';

/** What a byte path is called on disk. */
export const onDisk = (path: string): Buffer => Buffer.from(path, byteNames);

/** A byte path as text. */
export const textOfPath = (path: string): string => onDisk(path).toString();
