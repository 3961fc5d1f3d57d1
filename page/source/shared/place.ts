const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);

/** Where the program runs that this page talks to. */
export const place = isHere ? "this machine" : location.hostname;
export const promise = isHere ? "nothing leaves this machine" : `everything stays on ${place}`;
