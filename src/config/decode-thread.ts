import { parentPort, workerData } from 'node:worker_threads';
import type { DecodeOrder } from './decode-aside.ts';
import { decodeManifest } from './static-pod.ts';

// one manifest a thread: what decoding it took goes with the thread
parentPort?.postMessage(decodeManifest(...(workerData as DecodeOrder)));
