"""A language model played by files: answers each question with the file that names its words; any model by hand.

agent2 build CartPole-v1 --llm "command:python examples/answer_from_files.py examples/cartpole-answers"

The first line of a file says when it answers (`when: You design the observation`), the rest is the answer. A question
that no file answers ends the program, which says where the question was written: answer it there, by hand or by any
model, and type `agent2 resume`.
"""

import sys
import tempfile
from pathlib import Path

USER = "[user]\n"
"""How the last turn of a prompt begins."""


def find_answer(folder: Path, prompt: str) -> str | None:
    """Give the answer of the first file, by name, whose words stand in the last question; None where there is none."""
    question = prompt.rpartition(USER)[2]
    for file in sorted(folder.glob("*.md")):
        first, _, answer = file.read_text(encoding="utf-8").partition("\n")
        words = first.removeprefix("when:").strip()
        if words and words in question:
            return answer.strip()
    return None


def main() -> None:
    """Read the prompt on standard input, print the answer."""
    folder = Path(sys.argv[1])
    prompt = sys.stdin.read()
    answer = find_answer(folder, prompt)
    if answer is None:
        kept = Path(tempfile.gettempdir()) / "agent2-question.txt"
        kept.write_text(prompt, encoding="utf-8")
        sys.exit(
            f"No file in {folder} answers this question; it stands in {kept}. Write a file whose first line is `when: WORDS OF IT`."
        )
    print(answer)


if __name__ == "__main__":
    main()
