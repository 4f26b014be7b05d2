// A search for an option, such as --min-n, looks for its words in titles: each option has one on the page of options. The
// search itself takes a hyphen before a word for "without this word".
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...more) {
  if (typeof message?.data === "string") {
    const inTitles = (option) => option.split("-").filter(Boolean).map((word) => `+title:${word}`).join(" ");
    message = { ...message, data: message.data.replace(/(?<!\S)--[a-z][\w-]*/gi, inTitles) };
  }
  return post.call(this, message, ...more);
};
