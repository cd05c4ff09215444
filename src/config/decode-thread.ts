import { parentPort, workerData } from 'node:worker_threads';
import type { DecodeOrder } from './decode-aside.ts';
import { decodeManifest } from './static-pod.ts';

// One manifest per thread: its memory is freed with the thread.
parentPort?.postMessage(decodeManifest(...(workerData as DecodeOrder)));
