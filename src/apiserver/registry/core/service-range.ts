import { AgentError } from '../../../base/errors.ts';
import { ipv4Number, ipv4Text } from '../../../kube/ip.ts';

/** Addresses beyond which a range is rejected, as powers of two: kube-apiserver takes 8 to 2^20 addresses. */
const [leastBits, mostBits] = [3, 20];

/** ServiceRange is the range of IPv4 addresses that services get: `10.97.0.0/16`. */
export class ServiceRange {
  /** The range as a CIDR. */
  readonly text: string;
  readonly #base: number;
  readonly #size: number;

  private constructor(base: number, bits: number) {
    this.#base = base;
    this.#size = 2 ** bits;
    this.text = `${ipv4Text(base)}/${32 - bits}`;
  }

  /**
   * Parses a CIDR; addresses beyond the length of the prefix are dropped, as by kube-apiserver.
   *
   * @throws {AgentError} `invalid_argument` for anything but an IPv4 CIDR of 8 to 1,048,576 addresses
   */
  static of(text: string): ServiceRange {
    const [ip = '', length = '', ...rest] = text.trim().split('/');
    const base = ipv4Number(ip);
    const bits = 32 - Number(length);
    if (base === undefined || rest.length > 0 || !/^\d{1,2}$/.test(length) || bits < 0)
      throw wrong(text, 'an IPv4 CIDR is expected, as 10.0.0.0/16');
    if (bits < leastBits) throw wrong(text, 'the service cluster IP range must be at least 8 IP addresses');
    if (bits > mostBits) throw wrong(text, 'it is too large: the mask must be at least 12 bits long');
    return new ServiceRange(base - (base % 2 ** bits), bits);
  }

  /** The address of the API server's own service: the first one. */
  get first(): string {
    return ipv4Text(this.#base + 1);
  }

  /** The number of addresses for services: all but the network's own and the broadcast address. */
  get count(): number {
    return this.#size - 2;
  }

  /** Returns an address by its position, from 0. */
  at(position: number): string {
    return ipv4Text(this.#base + 1 + position);
  }

  /** Reports whether a service may have an address. */
  has(ip: string): boolean {
    const value = ipv4Number(ip);
    return value !== undefined && value > this.#base && value < this.#base + this.#size - 1;
  }
}

const wrong = (text: string, why: string): AgentError =>
  new AgentError('invalid_argument', `service cluster IP range ${JSON.stringify(text)}: ${why}`);
